import { describe, expect, it } from 'vitest';
import { catalogue, type ErrorCode } from './catalogue.ts';
import { renderError } from './render.ts';

describe('the renderer of errors (management 7.1)', () => {
  it('renders a coded error as an object, with details and need only where they exist', () => {
    expect(renderError({ code: 'forbidden', message: 'no', need: 'segment.write' })).toEqual({
      status: 403,
      headers: {},
      body: { error: { code: 'forbidden', message: 'no', need: 'segment.write' } },
    });
    expect(
      renderError({ code: 'batch_too_large', details: { limit: 500, sent: 501 } }).body,
    ).toEqual({
      error: {
        code: 'batch_too_large',
        message: catalogue.batch_too_large.message,
        details: { limit: 500, sent: 501 },
      },
    });
  });

  it('renders a flat error as a string, on the routes that list its code', () => {
    expect(renderError({ code: 'malformed_json' }, ['malformed_json']).body).toEqual({
      error: 'malformed JSON',
    });
    expect(renderError({ code: 'malformed_json' }).body).toEqual({
      error: { code: 'malformed_json', message: 'malformed JSON' },
    });
    expect(renderError({ code: 'count_unavailable' })).toEqual({
      status: 503,
      headers: {},
      body: { error: 'count unavailable' },
    });
  });

  it.each([
    'wrong_surface',
    'impersonation_read_only',
    'impersonation_forbidden',
    'ip_not_allowed',
    'invalid_report',
  ] as const)(
    'renders %s flat with a code and a Persian sentence, also where a route lists it as flat',
    (code) => {
      const { status, body } = renderError({ code }, [code]);
      expect(body).toEqual({ error: catalogue[code].message, code });
      expect(status).toBe({ wrong_surface: 401, invalid_report: 400 }[code as string] ?? 403);
      expect(catalogue[code].message).toMatch(/^[\u0600-\u06ff\u200c\s.؛،]+$/);
    },
  );

  it('renders every code of the catalogue to JSON with its status', () => {
    for (const code of Object.keys(catalogue) as ErrorCode[]) {
      const rendered = renderError({ code });
      expect(rendered.status).toBe(catalogue[code].status);
      expect(JSON.stringify(rendered.body)).toContain(catalogue[code].message.slice(0, 5));
    }
  });

  it('sets Retry-After for budget_exhausted, and not for a 503', () => {
    expect(renderError({ code: 'budget_exhausted' }).headers).toEqual({ 'retry-after': '60' });
    for (const code of Object.keys(catalogue) as ErrorCode[])
      if (catalogue[code].status === 503) expect(renderError({ code }).headers).toEqual({});
  });

  it('uses the messages that the specification quotes', () => {
    expect(catalogue.unauthenticated.message).toBe('a valid API key is required');
    expect(catalogue.write_key_rejected.message.match(/\u2026/g)).toHaveLength(2);
    expect(catalogue.schema_unavailable.message).toBe('schema unavailable');
    expect(catalogue.segments_unavailable.message).toBe('segments unavailable');
  });
});
