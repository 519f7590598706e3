/**
 * The style of all pages. The policy allows it by the hash of exactly these bytes. Sizes are in
 * rem, so that they follow the size that a person has chosen; the text has 17 px by default.
 */
export const STYLE = `
:root{--text:#1c2128;--quiet:#57606a;--page:#f3f4f6;--card:#fff;--line:#c9d0d8;--main:#0b57d0;--on-main:#fff;--good:#e3f4e8;--bad:#fdeceb}
@media (prefers-color-scheme:dark){:root{--text:#e7eaee;--quiet:#a9b2bd;--page:#101317;--card:#1a1f25;--line:#414a55;--main:#8db8ff;--on-main:#0a1f44;--good:#173524;--bad:#43201f}}
*{box-sizing:border-box}
body{margin:0;background:var(--card);color:var(--text);font:1.0625rem/1.9 Vazirmatn,Tahoma,"Segoe UI","Noto Sans Arabic","DejaVu Sans",sans-serif}
main{max-width:34rem;margin:0 auto;padding:1.5rem 1.25rem;overflow-wrap:anywhere}
h1{margin:0 0 .75rem;font-size:1.375rem;line-height:1.6}
p{margin:0 0 1rem}
.quiet{color:var(--quiet)}
.note{padding:.5rem 1rem;border-radius:.5rem;background:var(--good)}
.failed{background:var(--bad)}
fieldset{margin:0 0 1.25rem;padding:0;border:0}
legend{padding:0 0 .5rem}
label{display:flex;align-items:center;gap:.75rem;min-height:3rem;padding:.25rem 0;border-bottom:1px solid var(--line);cursor:pointer}
input{flex:none;width:1.5rem;height:1.5rem;margin:0;accent-color:var(--main)}
button{display:block;width:100%;min-height:3rem;padding:.5rem 1rem;border:0;border-radius:.5rem;background:var(--main);color:var(--on-main);font:inherit;font-weight:700;cursor:pointer}
form{margin:0 0 1rem}
a{display:inline-block;padding:.375rem 0;color:var(--main)}
:focus-visible{outline:3px solid var(--main);outline-offset:3px}
@media (min-width:40rem){body{background:var(--page)}main{background:var(--card);margin:3rem auto;padding:2rem 2.25rem;border:1px solid var(--line);border-radius:1rem}button{width:auto;min-width:12rem}}
`;
