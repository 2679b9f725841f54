from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', "0028_deliveries"),
    ]

    operations = [
        migrations.AddField(
            model_name='toolcall',
            name='event',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
    ]
