"""What machines have, and what projects need of them."""


from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_runs', '0019_stand_ins'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='needs',
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='sitehost',
            name='labels',
            field=models.JSONField(db_default=[], default=list),
        ),
    ]
