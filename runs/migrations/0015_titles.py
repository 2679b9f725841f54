"""What a run is called, found by the search of the list."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("faber_runs", "0014_dismissals")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="own_title",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.RemoveIndex(model_name="run", name="runs_listed"),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=[
                    "status",
                    "created_at",
                    "project",
                    "workflow_id",
                    "started_by",
                    "entered_phase",
                    "work_id",
                    "run_id",
                    "own_title",
                ],
                name="runs_listed",
            ),
        ),
    ]
