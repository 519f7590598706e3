/** Writes docs/openapi/ingest.json from the code. */
import { writeDocuments } from '../../platform/http/openapi-documents.ts';
import { documents } from './documents.ts';

await writeDocuments(documents);
