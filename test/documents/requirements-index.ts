import { readFileSync } from 'node:fs';

/** One requirement: a row of a table in docs/requirements/. */
export interface RequirementRow {
  /** `ingest 2.3`, `ingest 2.3-4`, `reports: Funnel-2`: the section, and a number within it. */
  id: string;
  section: string;
  /** Paths named in the columns Code and Test. */
  code: string[];
  tests: string[];
  /** Empty when built; otherwise the reason the code column gives. */
  open: string;
}

const ROW =
  /^\| *((?:ingest|management|erasure) [\d.]+(?:-\d+)?|reports: [A-Z][A-Za-z ]+?(?:-\d+)?) *\|/;

/** The rows of one page of the index. Throws when a row has not exactly four cells. */
export function readRows(page: string): RequirementRow[] {
  return readFileSync(page, 'utf8')
    .split('\n')
    .filter((line) => ROW.test(line))
    .map((line) => {
      const cells = line.slice(1, line.lastIndexOf('|')).split(/(?<!\\)\|/);
      const [id = '', , code = '', tests = ''] = cells.map((cell) => cell.trim());
      if (cells.length !== 4) throw new Error(`${page}: ${id} has ${cells.length} cells, not 4`);
      const open = /^not built/.test(code) ? code : '';
      return { id, section: sectionOf(id), code: pathsOf(code), tests: pathsOf(tests), open };
    });
}

/** The section of an id: without the number of the requirement. */
export function sectionOf(id: string): string {
  return id.replace(/-\d+$/, '');
}

function pathsOf(cell: string): string[] {
  return [...cell.matchAll(/`([\w./-]+)`/g)].map(([, path = '']) => path);
}

const CITATION =
  /\b(ingest|management) (\d+(?:\.\d+)*)((?:, (?:rules? \d+, )?\d+\.\d+)*)|\breports: ([A-Z][a-z]+(?: by both reports)?)(?![A-Za-z<])/g;

/** The sections that a text cites: `(ingest 2.3, 2.5)`, `(reports: Funnel)`. */
export function citationsIn(text: string): string[] {
  // A citation may be broken over two lines of a comment.
  const flat = text.replace(/\n\s*(?:\*|\/\/|--)? */g, ' ');
  return [...flat.matchAll(CITATION)].flatMap(([, host, first, more = '', heading]) =>
    heading === undefined
      ? [first, ...more.split(', ').slice(1)]
          .filter((part) => part !== undefined && !part.startsWith('rule'))
          .map((part) => `${host} ${part}`)
      : [`reports: ${heading}`],
  );
}
