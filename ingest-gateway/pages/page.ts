import { createHash } from 'node:crypto';
import { markup, type Html } from '../../platform/http/markup.ts';
import type { TextAnswer } from '../tracking/text-answer.ts';
import { STYLE } from './style.ts';

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** No script, nothing from elsewhere, no frame around it; its form goes back to this host. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/**
 * A page: Persian, right to left, without script and external resources (docs/channels.md, Pages of
 * messages).
 */
export function page({
  status,
  title,
  content,
}: {
  status: number;
  title: string;
  content: Html;
}): TextAnswer {
  const document = markup`<!doctype html>
<html lang="fa" dir="rtl">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`;
  return {
    ...{ status, type: 'text/html; charset=utf-8', body: document.html },
    headers: [
      ...['Content-Security-Policy', POLICY, 'X-Robots-Tag', 'noindex'],
      ...(status === 503 ? ['Retry-After', '60'] : []),
    ],
  };
}
