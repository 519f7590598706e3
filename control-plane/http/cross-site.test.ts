import { describe, expect, it } from 'vitest';
import { refuseCrossSite, type RequestSource } from './cross-site.ts';

const quiet: RequestSource = {
  method: 'POST',
  origin: undefined,
  fetchSite: undefined,
  host: 'localhost:8082',
  contentType: 'application/json',
  hasBody: true,
};
const HERE = 'http://localhost:8082';

describe('a request of a browser or a program', () => {
  it.each<[string, Partial<RequestSource>, ReturnType<typeof refuseCrossSite>]>([
    ['a program', {}, undefined],
    [
      'a program, whatever it calls its body',
      { contentType: 'application/x-www-form-urlencoded' },
      undefined,
    ],
    ['the own page', { origin: HERE, fetchSite: 'same-origin' }, undefined],
    ['the own page in an old browser', { origin: HERE }, undefined],
    [
      'the own page with a charset',
      { origin: HERE, contentType: 'Application/JSON; charset=utf-8' },
      undefined,
    ],
    [
      'the own page, without a body',
      { method: 'DELETE', origin: HERE, contentType: undefined, hasBody: false },
      undefined,
    ],
    ['an address typed by the user', { fetchSite: 'none' }, undefined],
    ['another site', { origin: 'https://evil.example', fetchSite: 'cross-site' }, 'cross_site'],
    ['another site in an old browser', { origin: 'https://evil.example' }, 'cross_site'],
    [
      'another host of the same site',
      { origin: 'http://x.localhost:8082', fetchSite: 'same-site' },
      'cross_site',
    ],
    [
      'another port of this machine',
      { origin: 'http://localhost:3000', fetchSite: 'same-site' },
      'cross_site',
    ],
    ['only Sec-Fetch-Site', { fetchSite: 'cross-site' }, 'cross_site'],
    ['an unknown Sec-Fetch-Site', { fetchSite: 'near' }, 'cross_site'],
    ['a sandboxed page', { origin: 'null' }, 'cross_site'],
    [
      'an Origin that contradicts Sec-Fetch-Site',
      { origin: 'https://evil.example', fetchSite: 'same-origin' },
      'cross_site',
    ],
    ['no Host', { origin: HERE, host: undefined }, 'cross_site'],
    [
      'a form of the own page',
      { origin: HERE, contentType: 'text/plain' },
      'unsupported_media_type',
    ],
    ['no content type', { origin: HERE, contentType: undefined }, 'unsupported_media_type'],
    [
      'a content type that begins with application/json',
      { origin: HERE, contentType: 'application/json5' },
      'unsupported_media_type',
    ],
    [
      'a read from another site',
      { method: 'GET', origin: 'https://evil.example', fetchSite: 'cross-site' },
      undefined,
    ],
  ])('is accepted or refused by its origin and type: %s', (_, change, expected) =>
    expect(refuseCrossSite({ ...quiet, ...change }, undefined)).toBe(expected),
  );

  it('is accepted only from the origin of PANEL_URL when that is set, whatever its Host is', () => {
    const source = { ...quiet, host: 'panel.example', fetchSite: 'same-origin' };
    expect(
      refuseCrossSite({ ...source, origin: 'https://panel.example' }, 'https://panel.example'),
    ).toBeUndefined();
    expect(
      refuseCrossSite({ ...source, origin: 'http://panel.example' }, 'https://panel.example'),
    ).toBe('cross_site');
  });
});
