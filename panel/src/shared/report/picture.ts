import { usedFontFaces } from './font-faces.ts';

/** Around the element, CSS pixels. */
const MARGIN = 16;

/**
 * A picture of an element as it looks now: a copy with its computed styles and the fonts of the
 * page, drawn through SVG.
 */
export async function pictureOf(element: HTMLElement): Promise<Blob> {
  const box = element.getBoundingClientRect();
  const [width, height] = [box.width + 2 * MARGIN, box.height + 2 * MARGIN];
  const fonts = await usedFontFaces();
  // In a document of its own: the page's policy allows no inline styles.
  const inert = document.implementation.createHTMLDocument();
  const copy = inert.importNode(element, true);
  copyStyles(element, copy);
  copy.setAttribute('xmlns', 'http://www.w3.org/1999/xhtml');
  copy.dir = document.documentElement.dir;
  const page = getComputedStyle(document.body).backgroundColor;
  const background = getComputedStyle(document.documentElement).backgroundColor || page;
  const markup = new XMLSerializer().serializeToString(copy);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><style>${fonts}</style><foreignObject x="${MARGIN}" y="${MARGIN}" width="${box.width}" height="${box.height}">${markup}</foreignObject></svg>`;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = 2;
  const canvas = document.createElement('canvas');
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('the browser gave no canvas');
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(scale, scale);
  context.drawImage(image, 0, 0);
  return await new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob) resolve(blob);
      else reject(new Error('the picture could not be written'));
    }, 'image/png');
  });
}

/** Every element of the copy gets the styles that its original has now. */
function copyStyles(from: Element, to: Element): void {
  const styles = getComputedStyle(from);
  const text = Array.from(styles, (name) => `${name}:${styles.getPropertyValue(name)}`).join(';');
  to.setAttribute('style', text);
  for (const [at, child] of Array.from(from.children).entries()) {
    const other = to.children[at];
    if (other) copyStyles(child, other);
  }
}
