"""What a run changed, kept with the question it was shown with."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_runs', '0015_titles'),
    ]

    operations = [
        migrations.CreateModel(
            name='CodePart',
            fields=[
                ('digest', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('content', models.BinaryField()),
                ('size', models.PositiveIntegerField()),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddField(
            model_name='run',
            name='base_commit',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.CreateModel(
            name='CodeSnapshot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('place', models.CharField(max_length=200)),
                ('base', models.CharField(max_length=64)),
                ('head', models.CharField(max_length=64)),
                ('tree', models.CharField(max_length=64)),
                ('files', models.PositiveIntegerField()),
                ('additions', models.PositiveIntegerField()),
                ('deletions', models.PositiveIntegerField()),
                ('commits', models.PositiveIntegerField()),
                ('listing', models.BinaryField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('previous', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='faber_runs.codesnapshot')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='snapshots', to='faber_runs.run')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
    ]
