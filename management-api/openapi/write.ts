/** Writes docs/openapi/management.json and docs/audience.schema.json from the code. */
import { writeDocuments } from '../../platform/http/openapi-documents.ts';
import { documents } from './documents.ts';

await writeDocuments(documents);
