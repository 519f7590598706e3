import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, statSync, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseLine } from '../arguments.ts';
import { CommandError, type CommandContext } from '../command.ts';
import { readJsonFile, writeJsonFile } from '../json-file.ts';
import { print } from '../terminal.ts';
import {
  orderedBatches,
  sendOrderedBatches,
  type OrderedItem,
} from '../traffic/ordered-batches.ts';
import { postBatch } from '../traffic/post.ts';
import { startProgress } from '../traffic/progress.ts';
import { pageEvent, parseAccessLine } from './access-log.ts';
import { readLines, startNaming } from './lines.ts';
import { envelopeItem, envelopeTime, parseEnvelope } from './ndjson.ts';

/** Lines that are read and sent before the resume file is written. */
const WINDOW_LINES = 4000;
/**
 * Fewer than the fifty warnings that an answer lists, so that every clamped timestamp is counted.
 */
const BATCH_ITEMS = 40;
const PARALLEL = 8;
const SHOWN_PROBLEMS = 10;

type Format = 'access log' | 'NDJSON';

interface Survey {
  format: Format;
  lines: number;
  newest: number | undefined;
}

interface Resume {
  lines: number;
  shift: number;
}

/** `./ravand send`: posts an NDJSON file or an access log through the public HTTP surface. */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const { values, words } = parseLine({
    args,
    words: { min: 1, max: 1 },
    options: { 'write-key': { type: 'string' }, 'shift-to-now': { type: 'boolean' } },
  });
  const file = resolve(words[0] ?? '');
  if (!existsSync(file) || !statSync(file).isFile())
    throw new CommandError(`there is no file ${file}`);
  const ready = context.ready();
  if (!ready) throw new CommandError('no stack is running here: start it with ./ravand up');
  const writeKey = values['write-key'] ?? ready.demo.write_key;
  const survey = await surveyFile(file);
  const shiftToNow = values['shift-to-now'] ?? false;

  const stateFile = resumeFile(context, file, writeKey, shiftToNow);
  const resume = readJsonFile<Resume>(stateFile) ?? {
    lines: 0,
    shift: shiftToNow && survey.newest !== undefined ? Date.now() - survey.newest : 0,
  };
  if (resume.lines > 0)
    print(
      `resuming after line ${resume.lines.toLocaleString('en')}, where the previous run stopped`,
    );
  const totals = { accepted: 0, duplicates: 0, rejected: 0, clamped: 0, unreadable: 0 };
  const progress = startProgress({ total: survey.lines, unit: 'lines', now: () => Date.now() });
  let problems = 0;
  const problem = (text: string) => {
    problems++;
    if (problems <= SHOWN_PROBLEMS) progress.note(text);
    else if (problems === SHOWN_PROBLEMS + 1) progress.note('… further problems are only counted');
  };

  const send = async (window: OrderedItem[]) => {
    await sendOrderedBatches(
      orderedBatches(window, BATCH_ITEMS),
      { parallel: PARALLEL },
      async (batch) => {
        const answer = await postBatch({ url: ready.ingest_url, writeKey }, batch);
        totals.accepted += answer.accepted;
        totals.duplicates += answer.duplicates;
        totals.rejected += answer.rejected;
        totals.clamped += answer.warnings.filter(
          ({ code }) => code === 'timestamp_too_old' || code === 'timestamp_in_future',
        ).length;
        for (const { index, reason } of answer.errors)
          problem(`rejected: ${reason}: ${JSON.stringify(batch.items[index]).slice(0, 120)}`);
        progress.advance(batch.items.length);
      },
    );
  };

  const name = startNaming();
  let number = 0;
  let window: OrderedItem[] = [];
  const finishWindow = async () => {
    await send(window);
    window = [];
    writeJsonFile(stateFile, { lines: number, shift: resume.shift } satisfies Resume);
  };
  for await (const line of readLines(file)) {
    number++;
    if (line.trim() === '') {
      progress.advance(1);
      continue;
    }
    const messageId = name(line);
    if (number <= resume.lines) {
      progress.advance(1);
      continue;
    }
    const item = readItem(survey.format, line, messageId, resume.shift);
    if (item) window.push(item);
    else {
      totals.unreadable++;
      problem(`line ${number} cannot be read as ${survey.format}: ${line.slice(0, 120)}`);
      progress.advance(1);
    }
    if (number % WINDOW_LINES === 0) await finishWindow();
  }
  await finishWindow();
  rmSync(stateFile, { force: true });
  progress.end();
  print(
    `${totals.accepted.toLocaleString('en')} accepted (${totals.duplicates.toLocaleString('en')} of them were there already), ${totals.rejected} rejected, ${totals.unreadable} lines that could not be read`,
  );
  if (totals.clamped > 0) {
    const way = shiftToNow ? '' : '; --shift-to-now moves the newest one to the present';
    print(
      `the gateway clamped ${totals.clamped.toLocaleString('en')} timestamps, because they lie outside the account's ingest window${way}`,
    );
  }
  return totals.rejected === 0 ? 0 : 1;
}

function readItem(
  format: Format,
  line: string,
  messageId: string,
  shift: number,
): OrderedItem | undefined {
  if (format === 'access log') {
    const request = parseAccessLine(line);
    return request && pageEvent(request, messageId, shift);
  }
  const envelope = parseEnvelope(line);
  return envelope && envelopeItem(envelope, messageId, shift);
}

/** Reads the file once: what it is, how many lines it has, and its newest time. */
async function surveyFile(file: string): Promise<Survey> {
  let json = 0;
  let log = 0;
  let lines = 0;
  let newest: number | undefined;
  for await (const line of readLines(file)) {
    lines++;
    if (line.trim() === '') continue;
    const looksJson = line.trimStart().startsWith('{');
    const envelope = looksJson ? parseEnvelope(line) : undefined;
    const time = envelope ? envelopeTime(envelope) : parseAccessLine(line)?.time;
    if (looksJson) json++;
    else if (time !== undefined) log++;
    if (time !== undefined && (newest === undefined || time > newest)) newest = time;
  }
  if (json === 0 && log === 0)
    throw new CommandError(
      `${file} holds neither NDJSON (an envelope with a type a line) nor an access log in the combined format`,
    );
  return { format: json >= log ? 'NDJSON' : 'access log', lines, newest };
}

function resumeFile(
  context: CommandContext,
  file: string,
  writeKey: string,
  shiftToNow: boolean,
): string {
  const { size, mtimeMs } = statSync(file);
  const key = createHash('sha256')
    .update(JSON.stringify([file, size, mtimeMs, writeKey, shiftToNow]))
    .digest('hex')
    .slice(0, 24);
  const folder = join(context.home.dir, 'send');
  mkdirSync(folder, { recursive: true });
  return join(folder, `${key}.json`);
}
