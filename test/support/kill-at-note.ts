/**
 * Preloaded into a command (node --import): ends it with kill -9 when it writes a note into
 * log_jobs that KILL_NOTE (a regular expression over the statement and its values) matches,
 * `before` or `after` PostgreSQL has it (KILL_MOMENT).
 */
import pg from 'pg';

type Query = (this: unknown, ...args: unknown[]) => unknown;

const note = new RegExp(process.env['KILL_NOTE'] ?? '$^');
const isAfter = process.env['KILL_MOMENT'] === 'after';
const die = () => process.kill(process.pid, 'SIGKILL');
const prototype = pg.Client.prototype as unknown as { query: Query };
const { query } = prototype;

prototype.query = function (...args) {
  const [text, values] = args;
  const isNote =
    typeof text === 'string' &&
    text.includes('UPDATE log_jobs SET') &&
    note.test(`${text} ${JSON.stringify(values)}`);
  if (!isNote) return Reflect.apply(query, this, args);
  if (!isAfter) return die();
  return Reflect.apply(query, this, [...args.slice(0, -1), die]);
};
