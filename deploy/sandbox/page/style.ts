/** The style of the sandbox's page. The policy allows it by the hash of exactly these bytes. */
export const STYLE = `
:root{--text:#1c2128;--quiet:#57606a;--page:#f3f4f6;--card:#fff;--line:#c9d0d8;--main:#0b57d0;--on-main:#fff}
@media (prefers-color-scheme:dark){:root{--text:#e7eaee;--quiet:#a9b2bd;--page:#101317;--card:#1a1f25;--line:#414a55;--main:#8db8ff;--on-main:#0a1f44}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:1rem/1.8 Vazirmatn,Tahoma,"Segoe UI","Noto Sans Arabic","DejaVu Sans",sans-serif}
main{max-width:56rem;margin:0 auto;padding:1.5rem 1rem;overflow-wrap:anywhere}
h1{margin:0 0 .25rem;font-size:1.5rem;line-height:1.6}
h2{margin:0 0 .5rem;font-size:1.0625rem}
p{margin:0 0 1rem}
.quiet{color:var(--quiet)}
nav{display:flex;flex-wrap:wrap;gap:.5rem;margin:0 0 1rem;padding:0;list-style:none}
nav a{padding:.25rem .9rem;border:1px solid var(--line);border-radius:2rem;background:var(--card);color:var(--text);text-decoration:none}
nav a[aria-current]{border-color:var(--main);background:var(--main);color:var(--on-main)}
form{display:flex;flex-wrap:wrap;gap:.5rem;margin:0 0 1.5rem}
input{flex:1 1 14rem;min-height:2.75rem;padding:.25rem .9rem;border:1px solid var(--line);border-radius:.5rem;background:var(--card);color:inherit;font:inherit}
button{min-height:2.75rem;padding:.25rem 1.25rem;border:0;border-radius:.5rem;background:var(--main);color:var(--on-main);font:inherit;font-weight:700;cursor:pointer}
article{margin:0 0 1rem;padding:1rem 1.25rem;border:1px solid var(--line);border-radius:.75rem;background:var(--card)}
header{display:flex;flex-wrap:wrap;align-items:baseline;gap:.25rem .9rem;margin:0 0 .5rem;color:var(--quiet)}
.channel{padding:0 .75rem;border-radius:2rem;background:var(--main);color:var(--on-main);font-size:.875rem}
.text{margin:0 0 .5rem;white-space:pre-wrap}
summary{cursor:pointer;color:var(--main)}
iframe{display:block;width:100%;height:26rem;margin:.5rem 0;border:1px solid var(--line);border-radius:.5rem;background:#fff}
pre{margin:.5rem 0;padding:.75rem;overflow-x:auto;border-radius:.5rem;background:var(--page);font:.875rem/1.6 ui-monospace,monospace;text-align:left;white-space:pre-wrap}
:focus-visible{outline:3px solid var(--main);outline-offset:2px}
`;
