/**
 * The font faces that the page has loaded, as CSS with their files in it: an image of SVG cannot
 * load any. The files are in the cache of the browser.
 */
export async function usedFontFaces(): Promise<string> {
  const loaded = new Set(
    [...document.fonts].filter(({ status }) => status === 'loaded').map(keyOf),
  );
  const rules = [...document.styleSheets].flatMap((sheet) =>
    [...sheet.cssRules].filter((rule) => rule instanceof CSSFontFaceRule),
  );
  const faces = rules.filter(({ style }) =>
    loaded.has(
      keyOf({
        family: style.getPropertyValue('font-family'),
        unicodeRange: style.getPropertyValue('unicode-range'),
      }),
    ),
  );
  return (await Promise.all(faces.map(withFile))).join('');
}

function keyOf({ family, unicodeRange }: Pick<FontFace, 'family' | 'unicodeRange'>): string {
  return `${family.replaceAll(/["']/g, '')} ${unicodeRange.replaceAll(/\s/g, '').toUpperCase()}`;
}

async function withFile(rule: CSSFontFaceRule): Promise<string> {
  const [, path = ''] = /url\("([^"]+)"\)/.exec(rule.style.getPropertyValue('src')) ?? [];
  const url = new URL(path, rule.parentStyleSheet?.href ?? location.href);
  const file = await (await fetch(url)).blob();
  return rule.cssText.replace(/url\("[^"]+"\)/, `url("${await dataUrl(file)}")`);
}

function dataUrl(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error ?? new Error('the file of a font cannot be read'));
    reader.readAsDataURL(file);
  });
}
