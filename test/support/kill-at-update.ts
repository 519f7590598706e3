/**
 * Preloaded into a command (node --import): kills it with kill -9 when it updates log_jobs with a
 * statement and values that KILL_UPDATE (a regular expression) matches, `before` or `after`
 * PostgreSQL has them (KILL_MOMENT).
 */
import pg from 'pg';

type Query = (this: unknown, ...args: unknown[]) => unknown;

const update = new RegExp(process.env['KILL_UPDATE'] ?? '$^');
const isAfter = process.env['KILL_MOMENT'] === 'after';
const die = () => process.kill(process.pid, 'SIGKILL');
const prototype = pg.Client.prototype as unknown as { query: Query };
const { query } = prototype;

prototype.query = function (...args) {
  const [text, values] = args;
  const isMatch =
    typeof text === 'string' &&
    text.includes('UPDATE log_jobs SET') &&
    update.test(`${text} ${JSON.stringify(values)}`);
  if (!isMatch) return Reflect.apply(query, this, args);
  if (!isAfter) return die();
  return Reflect.apply(query, this, [...args.slice(0, -1), die]);
};
