/**
 * The PostgreSQL of the local stack: PGlite behind a socket. Started as `node
 * deploy/local/postgres-server.ts FOLDER PORT PASSWORDS`, the last a file (server-passwords.ts).
 * One statement or transaction runs at a time, and all clients share one session (no advisory
 * locks, no session state).
 */
import { PGlite } from '@electric-sql/pglite';
import { createFront } from './postgres/front.ts';
import { ensureServerPasswords } from './server-passwords.ts';

const [folder, port, passwordsFile] = process.argv.slice(2);
if (folder === undefined || port === undefined || passwordsFile === undefined)
  throw new Error('usage: node deploy/local/postgres-server.ts FOLDER PORT PASSWORDS');

const CLOSE_MS = 8000;

/** The default of 128 MiB is for larger machines; the system's cache holds the files anyway. */
const SHARED_BUFFERS = '16MB';

const db = await PGlite.create({
  dataDir: folder,
  startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`],
});
const server = createFront({
  engine: db,
  password: ensureServerPasswords({ passwordsFile }).postgres,
  maxConnections: 200,
  idleInTransaction: 15_000,
  onEngineFailure: (error) => {
    console.error('the engine failed; the supervisor restarts it:', error);
    process.exit(1);
  },
});
server.on('error', (error) => {
  console.error(`cannot listen on 127.0.0.1:${port}: ${error.message}`);
  process.exit(1);
});
server.listen(Number(port), '127.0.0.1', () => console.log(`PGlite answers on 127.0.0.1:${port}`));

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    setTimeout(() => process.exit(1), CLOSE_MS).unref();
    server.close();
    db.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}
