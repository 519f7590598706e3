import * as setting from '../setting-kinds.ts';
import { defineSettings, type SettingsOf } from '../settings.ts';
import { folderFiles, type ExportFiles } from './folder-files.ts';
import { s3Files } from './s3-files.ts';

export const exportFileSettings = defineSettings({
  EXPORT_DIR: setting.text({
    default: '.ravand/exports',
    doc: 'Folder of export files, relative to the working directory. All processes of management-api share it.',
    unit: 'path',
  }),
  EXPORT_S3_URL: setting.text({
    default: '',
    doc: 'S3-compatible storage of export files instead of EXPORT_DIR, as https://host/bucket or https://host/bucket/prefix. Empty: the folder.',
    unit: 'URL',
  }),
  EXPORT_S3_REGION: setting.text({
    default: 'us-east-1',
    doc: 'Region for which requests to EXPORT_S3_URL are signed.',
  }),
  EXPORT_S3_ACCESS_KEY: setting.text({ default: '', doc: 'Access key of EXPORT_S3_URL.' }),
  EXPORT_S3_SECRET_KEY: setting.text({
    default: '',
    doc: 'Secret key of EXPORT_S3_URL.',
    secret: true,
  }),
});

/** The place of the files that the settings name: S3-compatible storage, or else a folder. */
export function exportFiles(settings: SettingsOf<typeof exportFileSettings>): ExportFiles {
  if (settings.EXPORT_S3_URL === '') return folderFiles(settings.EXPORT_DIR);
  return s3Files({
    url: settings.EXPORT_S3_URL,
    region: settings.EXPORT_S3_REGION,
    accessKey: settings.EXPORT_S3_ACCESS_KEY,
    secretKey: settings.EXPORT_S3_SECRET_KEY,
  });
}
