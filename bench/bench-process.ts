/**
 * Runs the script of one benchmark, with the options behind its name. What is wrong with them is a
 * sentence instead of a stack trace. Started by main.ts.
 */
import { pathToFileURL } from 'node:url';
import { CommandError } from '../cli/command.ts';
import { printError } from '../cli/terminal.ts';

const script = process.argv[2] ?? '';
// For the script, as if it had been started itself.
process.argv.splice(1, 1);
try {
  await import(pathToFileURL(script).href);
} catch (error) {
  if (!(error instanceof CommandError)) throw error;
  printError(error.message);
  process.exit(error.exitCode);
}
