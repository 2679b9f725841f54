from django.db import migrations

# In a transaction of its own: PostgreSQL changes no table whose rows were changed before it.
FILL = """
UPDATE faber_feedback_feedbackrequest SET project_id =
  (SELECT project_id FROM faber_runs_run r WHERE r.id = faber_feedback_feedbackrequest.run_id)
WHERE project_id IS NULL
"""


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0031_requests_of_project'),
    ]

    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
