import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { documentText } from '../../platform/http/openapi-documents.ts';
import { catalogue, type ErrorCode } from '../../account-api/errors/catalogue.ts';
import { OPERATORS } from '../../audiences/conditions/condition.ts';
import { documents } from './documents.ts';

it('the documents in docs/ equal what `node management-api/openapi/write.ts` generates', async () => {
  for (const document of documents)
    expect(readFileSync(join(import.meta.dirname, '../..', document.path), 'utf8')).toBe(
      await documentText(document),
    );
});

it('every reference of the OpenAPI document resolves to a component', () => {
  const text = JSON.stringify(documents[0]?.content);
  const document = JSON.parse(text) as { components: { schemas: Record<string, unknown> } };
  const names = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)];
  expect(names.length).toBeGreaterThan(20);
  for (const [, name] of names) expect(document.components.schemas[name ?? ''], name).toBeDefined();
});

type Schema = Record<string, unknown>;
const document = documents[0]?.content as {
  components: { schemas: Record<string, Schema> };
  paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
};

/** The schema at a path of keys. */
function schemaAt(...path: string[]): Schema {
  return path.reduce<Schema>((schema, key) => schema[key] as Schema, document.components.schemas);
}

describe('the error codes of the OpenAPI document', () => {
  const open = [
    schemaAt('CodedError', 'properties', 'error', 'properties', 'code'),
    schemaAt('FlatError', 'properties', 'code'),
  ];
  const listed = open.flatMap(({ examples }) => examples as string[]);

  it('are open texts, because new ones may appear (management 9.4)', () => {
    for (const schema of open) expect(Object.keys(schema)).toEqual(['type', 'examples']);
  });

  it('are those of the catalogue that the code sends', () => {
    const folder = join(import.meta.dirname, '../..');
    const sources = globSync('{account-api,management-api}/**/*.ts', { cwd: folder })
      .filter((file) => !/\.test\.ts$|\/openapi\/|\/errors\/|testing/.test(file))
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .join('\n');
    // nothing issues the credentials that these answer
    const notIssued = ['wrong_surface', 'impersonation_read_only', 'impersonation_forbidden'];
    const sent = (Object.keys(catalogue) as ErrorCode[]).filter(
      (code) =>
        catalogue[code].form !== 'flat' &&
        sources.includes(`'${code}'`) &&
        !notIssued.includes(code),
    );
    expect(listed.toSorted()).toEqual(sent.toSorted());
  });

  it('include every code that a route names, and a route names a message where it has no code', () => {
    const elsewhere = ['unknown_endpoint', 'malformed_request'];
    const named = Object.values(document.paths)
      .flatMap((operations) => Object.values(operations))
      .flatMap(({ responses }) => Object.values(responses))
      .flatMap(({ description }) => description.split(', '))
      .filter((name) => /^[a-z_]+$/.test(name));
    expect([...new Set([...named, ...elsewhere])].toSorted()).toEqual(listed.toSorted());
  });
});

it('lists of texts have a type, and are closed in requests only (management 9.4)', () => {
  const operator = schemaAt('ReportFilter', 'properties', 'op');
  expect(operator).toMatchObject({ type: 'string', enum: OPERATORS });
  expect(schemaAt('Whoami', 'properties', 'role')).toMatchObject({ type: 'string' });
  for (const name of ['Whoami', 'SchemaTraits', 'IngestQuality', 'ExportList', 'ExportQueued'])
    expect(JSON.stringify(schemaAt(name)), name).not.toContain('"enum"');
});
