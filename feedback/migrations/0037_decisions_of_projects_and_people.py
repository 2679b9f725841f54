import django.db.models.deletion
import feedback.models.requests
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0036_what_failed'),
        ('faber_runs', '0036_rare_audit_entries'),
    ]

    operations = [
        migrations.AddField(
            model_name='feedbackresponse',
            name='project',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='faber_runs.project'),
        ),
        migrations.AddIndex(
            model_name='feedbackresponse',
            index=models.Index(fields=['project', 'received_at', 'id'], name='responses_of_project'),
        ),
        migrations.AddIndex(
            model_name='feedbackresponse',
            index=models.Index(fields=['user', 'received_at', 'id'], name='responses_of_user'),
        ),
        migrations.AddIndex(
            model_name='feedbackresponse',
            index=models.Index(feedback.models.requests.Provider('user'), models.F('received_at'), models.F('id'), name='responses_by_name'),
        ),
        migrations.AddIndex(
            model_name='feedbackresponse',
            index=models.Index(feedback.models.requests.Provider('account'), models.F('received_at'), models.F('id'), name='responses_by_account'),
        ),
    ]
