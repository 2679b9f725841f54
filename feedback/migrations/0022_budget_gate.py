"""A run that used up its budget asks."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("faber_feedback", "0021_politeness"),
    ]

    operations = [
        migrations.AlterField(
            model_name="feedbackrequest",
            name="gate",
            field=models.CharField(
                choices=[
                    ("phase", "phase"),
                    ("before_step", "before_step"),
                    ("after_step", "after_step"),
                    ("warning", "warning"),
                    ("failure", "failure"),
                    ("input", "input"),
                    ("check_in", "check_in"),
                    ("budget", "budget"),
                ],
                max_length=20,
            ),
        ),
    ]
