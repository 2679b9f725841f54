import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0030_tallies'),
        ('faber_runs', '0034_no_attempts_by_outcome'),
    ]

    operations = [
        migrations.AddField(
            model_name='feedbackrequest',
            name='project',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='faber_runs.project'),
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['project', 'status', 'due_at', 'ranked_at', 'id'], name='requests_of_project'),
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['project', 'status', 'type'], name='types_of_project'),
        ),
    ]
