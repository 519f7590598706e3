/** An element; texts are text, never HTML. Attributes that are undefined are left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string | undefined>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const key in attributes) {
    const value = attributes[key];
    if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
