import type { Config } from '../config.ts';
import { folderFiles, type ExportFiles } from './folder-files.ts';
import { s3Files } from './s3-files.ts';

type Settings = Pick<Config, 'EXPORT_DIR' | 'EXPORT_S3_URL' | 'EXPORT_S3_REGION' | 'EXPORT_S3_ACCESS_KEY' | 'EXPORT_S3_SECRET_KEY'>;

/** The place of the files that the settings name: S3-compatible storage, or else a folder. */
export function exportFiles(settings: Settings): ExportFiles {
  if (settings.EXPORT_S3_URL === '') return folderFiles(settings.EXPORT_DIR);
  return s3Files({
    url: settings.EXPORT_S3_URL,
    region: settings.EXPORT_S3_REGION,
    accessKey: settings.EXPORT_S3_ACCESS_KEY,
    secretKey: settings.EXPORT_S3_SECRET_KEY,
  });
}
