"""Code changes of a request: shown, commented on line by line, viewed."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0010_named_requests'),
        ('faber_runs', '0016_code_changes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='feedbackrequest',
            name='snapshot',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='requests', to='faber_runs.codesnapshot'),
        ),
        migrations.AddField(
            model_name='reviewcomment',
            name='side',
            field=models.CharField(blank=True, choices=[('old', 'Old'), ('new', 'New')], db_default='', default='', max_length=3),
        ),
        migrations.CreateModel(
            name='ViewedFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=500)),
                ('part', models.CharField(max_length=64)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='faber_runs.run')),
                ('viewer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'viewer', 'path'), name='viewed_once')],
            },
        ),
    ]
