/** `./ravand COMMAND …`. Exit codes: 0 done, 1 failed, 2 the line cannot be understood. */
import { commands } from './commands.ts';
import { runLine } from './run-line.ts';
import { endWithParent } from './with-parent.ts';

// A reader that closes the pipe (`./ravand logs | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? 0 : 1),
);

endWithParent();
const exitCode = await runLine({ args: process.argv.slice(2), commands, env: process.env });
// Exits although a client still reconnects to a dead server, after what was printed is written.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
