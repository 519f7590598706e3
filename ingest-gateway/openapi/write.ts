import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openapiDocument } from './documents.ts';

const { path, text } = await openapiDocument();
writeFileSync(join(import.meta.dirname, '../..', path), text);
