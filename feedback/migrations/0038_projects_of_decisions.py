from django.db import migrations

# In a transaction of its own: PostgreSQL changes no table whose rows were changed before it.
FILL = """
UPDATE faber_feedback_feedbackresponse SET project_id =
  (SELECT r.project_id FROM faber_feedback_feedbackrequest q JOIN faber_runs_run r ON r.id = q.run_id
   WHERE q.id = faber_feedback_feedbackresponse.request_id)
WHERE project_id IS NULL
"""


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0037_decisions_of_projects_and_people'),
    ]

    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
