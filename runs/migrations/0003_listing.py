from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("faber_runs", "0002_roles")]

    operations = [
        migrations.RemoveIndex(model_name="run", name="run_by_status"),
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
                ],
                name="runs_listed",
            ),
        ),
    ]
