import django.db.models.functions.comparison
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0038_projects_of_decisions'),
    ]

    operations = [
        migrations.AddField(
            model_name='feedbackrequest',
            name='project_key',
            field=models.CharField(editable=False, max_length=200, null=True),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='title_key',
            field=models.CharField(editable=False, max_length=500, null=True),
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['status', 'title_key', 'ranked_at', 'id'], name='requests_by_title'),
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['status', 'project_key', 'ranked_at', 'id'], name='requests_by_project'),
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(models.F('status'), models.OrderBy(django.db.models.functions.comparison.Coalesce('cost_usd', models.Value(-1.0)), descending=True), models.F('ranked_at'), models.F('id'), condition=models.Q(('status', 'pending')), name='requests_by_cost'),
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(models.F('status'), models.OrderBy(models.F('round'), descending=True), models.F('ranked_at'), models.F('id'), condition=models.Q(('status', 'pending')), name='requests_by_round'),
        ),
    ]
