/**
 * Makes the empty data folder of PGlite: `node deploy/local/setup/init-postgres.ts FOLDER`. A
 * process of its own: what the initialisation takes, some 300 MiB, ends with it.
 */
import { PGlite } from '@electric-sql/pglite';

const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: node deploy/local/setup/init-postgres.ts FOLDER');
const db = await PGlite.create({ dataDir: folder });
await db.close();
