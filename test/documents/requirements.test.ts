import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { citationsIn, readRows } from './requirements-index.ts';
import sections from './specification-sections.json' with { type: 'json' };

const checkout = join(import.meta.dirname, '../..');
const pages = ['ingest', 'management', 'reports', 'erasure'].map((name) =>
  join(checkout, `docs/requirements/${name}.md`),
);
const rows = pages.flatMap(readRows);
const known = new Set([...rows.map(({ id }) => id), ...rows.map(({ section }) => section)]);

/** A section is known when it has a row, or when one of its subsections has. */
const resolves = (section: string) =>
  known.has(section) || [...known].some((one) => one.startsWith(`${section}.`));

const sources = execFileSync('git', ['ls-files', '*.ts', '*.sql', '*.md'], {
  cwd: checkout,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && !file.startsWith('docs/requirements/'))
  .filter((file) => existsSync(join(checkout, file)));

/** Migrations that were released: their checksums are recorded. */
const UNCHANGEABLE = ['deploy/migrations/postgres/0052_onsite.sql'];

describe('the requirements index', () => {
  it('has a row for every section of the specifications', () => {
    expect(sections.filter((section) => !resolves(section))).toEqual([]);
  });

  it('lists each requirement once', () => {
    const ids = rows.map(({ id }) => id);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  });

  it('names only files that exist', () => {
    const missing = rows.flatMap(({ id, code, tests }) =>
      [...code, ...tests]
        .filter((path) => !existsSync(join(checkout, path)))
        .map((path) => `${id}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('names code and a test for every requirement that is built', () => {
    const unproven = rows.filter(
      ({ code, tests, open }) => open === '' && (code.length === 0 || tests.length === 0),
    );
    expect(unproven.map(({ id }) => id)).toEqual([]);
  });

  it('resolves every citation of a specification in code, SQL and documents', () => {
    const unresolved = sources.flatMap((file) =>
      citationsIn(readFileSync(join(checkout, file), 'utf8'))
        .filter((section) => !resolves(section))
        .map((section) => `${file}: ${section}`),
    );
    expect(unresolved).toEqual([]);
  });

  it('knows the sections of the specifications, when those are available', () => {
    const folder = join(checkout, '../shared');
    if (!existsSync(join(folder, 'spec/ingest-surface.md'))) return;
    const numbered = (host: string) =>
      [
        ...readFileSync(join(folder, `spec/${host}-surface.md`), 'utf8').matchAll(
          /^#{2,3} (\d+(?:\.\d+)?)/gm,
        ),
      ].map(([, number = '']) => `${host} ${number}`);
    const named = [...readFileSync(join(folder, 'reports.md'), 'utf8').matchAll(/^## (.+)$/gm)].map(
      ([, heading = '']) => `reports: ${heading}`,
    );
    expect([...numbered('ingest'), ...numbered('management'), ...named]).toEqual(sections);
  });
});

describe('documents', () => {
  it('cite no guarantee that ARCHITECTURE.md does not define', () => {
    const architecture = readFileSync(join(checkout, 'ARCHITECTURE.md'), 'utf8');
    const cited = new Set(
      sources.flatMap((file) =>
        [...readFileSync(join(checkout, file), 'utf8').matchAll(/\bG[1-9]\b/g)].map(([id]) => id),
      ),
    );
    const defined = new Set([...architecture.matchAll(/\*\*(G[1-9])/g)].map(([, id = '']) => id));
    expect([...defined].sort()).toEqual(['G1', 'G2', 'G3', 'G4', 'G5', 'G6', 'G7', 'G8']);
    expect([...cited].filter((id) => !defined.has(id))).toEqual([]);
  });

  it('are cited in code and SQL only by names and sections that exist', () => {
    const documents = sources.filter((file) => file.endsWith('.md'));
    const headings = (file: string) =>
      [...readFileSync(join(checkout, file), 'utf8').matchAll(/^#+ (.+)$/gm)].map(
        ([, heading = '']) => heading,
      );
    const wrong = sources
      .filter((file) => !file.endsWith('.md') && !UNCHANGEABLE.includes(file))
      .flatMap((file) => {
        // A citation may be broken over two lines of a comment.
        const text = readFileSync(join(checkout, file), 'utf8').replaceAll(/\n \* /g, ' ');
        const named = [...text.matchAll(/\b[A-Z][A-Z-]+\.md\b/g)]
          .map(([name]) => name)
          .filter((name) => !documents.some((one) => one.split('/').at(-1) === name));
        const cited = [...text.matchAll(/\b(docs\/[\w-]+\.md), (?=[A-Z])/g)]
          .filter(({ 0: all, 1: document = '', index }) => {
            const section = text.slice(index + all.length, index + all.length + 100);
            return (
              !documents.includes(document) ||
              !headings(document).some((one) => section.startsWith(one))
            );
          })
          .map(({ index }) => text.slice(index, index + 60));
        return [...named, ...cited].map((what) => `${file}: ${what}`);
      });
    expect(wrong).toEqual([]);
  });

  it('link only to files that exist', () => {
    const broken = sources
      .filter((file) => file.endsWith('.md'))
      .flatMap((file) =>
        [...readFileSync(join(checkout, file), 'utf8').matchAll(/\]\(([^):#\s]+)(?:#[^)]*)?\)/g)]
          .map(([, path = '']) => path)
          .filter((path) => !existsSync(join(checkout, file, '..', path)))
          .map((path) => `${file}: ${path}`),
      );
    expect(broken).toEqual([]);
  });

  it('do not refer to the first design, which is not part of this repository', () => {
    // The name is put together so that this file does not contain it.
    const name = ['DESIGN', 'md'].join('.');
    expect(
      sources.filter((file) => readFileSync(join(checkout, file), 'utf8').includes(name)),
    ).toEqual([]);
  });
});
