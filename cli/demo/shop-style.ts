/** Of the demo shop: light and dark, from right to left and left to right. */
export const SHOP_STYLE = `
  :root { color-scheme: light dark }
  body { font: 16px/1.8 system-ui, Tahoma, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem }
  header { display: flex; gap: 1rem; align-items: baseline; justify-content: space-between }
  h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-block: 2rem 0 }
  article { display: flex; flex-wrap: wrap; gap: .25rem .5rem; align-items: center; border-block-end: 1px solid #8884; padding: .5rem 0 }
  article b { flex: 1; min-width: 9rem }
  button { font: inherit; padding: .25rem .75rem }
  output { display: inline-block; min-width: 1.5rem; font-weight: bold }
  #status { min-height: 1.8em; margin: 0 }
  #log { direction: ltr; text-align: left; font: 12px/1.6 monospace; overflow-wrap: anywhere; padding-inline-start: 1.5rem }
`;
