import { createHighlighterCore, type HighlighterCore } from '@shikijs/core'
import { createJavaScriptRegexEngine } from '@shikijs/engine-javascript'
import dark from '@shikijs/themes/github-dark-high-contrast'
import light from '@shikijs/themes/github-light-high-contrast'
import type { CodePiece, HighlightQuestion } from './highlight.ts'

type Grammar = Parameters<HighlighterCore['loadLanguage']>[0]

/** One chunk each; a grammar includes the ones that it embeds. */
const grammars: Readonly<Record<string, () => Grammar>> = {
  bash: () => import('@shikijs/langs/shellscript'),
  c: () => import('@shikijs/langs/c'),
  clojure: () => import('@shikijs/langs/clojure'),
  cpp: () => import('@shikijs/langs/cpp'),
  csharp: () => import('@shikijs/langs/csharp'),
  css: () => import('@shikijs/langs/css'),
  dart: () => import('@shikijs/langs/dart'),
  diff: () => import('@shikijs/langs/diff'),
  docker: () => import('@shikijs/langs/docker'),
  elixir: () => import('@shikijs/langs/elixir'),
  go: () => import('@shikijs/langs/go'),
  graphql: () => import('@shikijs/langs/graphql'),
  haskell: () => import('@shikijs/langs/haskell'),
  html: () => import('@shikijs/langs/html'),
  ini: () => import('@shikijs/langs/ini'),
  java: () => import('@shikijs/langs/java'),
  javascript: () => import('@shikijs/langs/javascript'),
  json: () => import('@shikijs/langs/json'),
  jsx: () => import('@shikijs/langs/jsx'),
  julia: () => import('@shikijs/langs/julia'),
  kotlin: () => import('@shikijs/langs/kotlin'),
  latex: () => import('@shikijs/langs/latex'),
  lua: () => import('@shikijs/langs/lua'),
  makefile: () => import('@shikijs/langs/makefile'),
  markdown: () => import('@shikijs/langs/markdown'),
  nix: () => import('@shikijs/langs/nix'),
  perl: () => import('@shikijs/langs/perl'),
  php: () => import('@shikijs/langs/php'),
  powershell: () => import('@shikijs/langs/powershell'),
  python: () => import('@shikijs/langs/python'),
  r: () => import('@shikijs/langs/r'),
  ruby: () => import('@shikijs/langs/ruby'),
  rust: () => import('@shikijs/langs/rust'),
  scala: () => import('@shikijs/langs/scala'),
  scss: () => import('@shikijs/langs/scss'),
  sql: () => import('@shikijs/langs/sql'),
  swift: () => import('@shikijs/langs/swift'),
  terraform: () => import('@shikijs/langs/terraform'),
  toml: () => import('@shikijs/langs/toml'),
  tsx: () => import('@shikijs/langs/tsx'),
  typescript: () => import('@shikijs/langs/typescript'),
  xml: () => import('@shikijs/langs/xml'),
  yaml: () => import('@shikijs/langs/yaml'),
  zig: () => import('@shikijs/langs/zig'),
}
const otherNames: Readonly<Record<string, string>> = {
  'c#': 'csharp',
  'c++': 'cpp',
  clj: 'clojure',
  cjs: 'javascript',
  console: 'bash',
  cs: 'csharp',
  dockerfile: 'docker',
  ex: 'elixir',
  golang: 'go',
  h: 'c',
  hcl: 'terraform',
  hpp: 'cpp',
  hs: 'haskell',
  htm: 'html',
  js: 'javascript',
  json5: 'json',
  jsonc: 'json',
  jsonl: 'json',
  kt: 'kotlin',
  make: 'makefile',
  md: 'markdown',
  mjs: 'javascript',
  patch: 'diff',
  pl: 'perl',
  ps1: 'powershell',
  py: 'python',
  python3: 'python',
  rb: 'ruby',
  rs: 'rust',
  sass: 'scss',
  sh: 'bash',
  shell: 'bash',
  shellscript: 'bash',
  svg: 'xml',
  tex: 'latex',
  tf: 'terraform',
  ts: 'typescript',
  yml: 'yaml',
  zsh: 'bash',
}

const themes = { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' }
const maxLineLength = 1_000

let highlighter: Promise<HighlighterCore> | undefined

/** Undefined where the language is unknown. */
async function highlight(code: string, language: string): Promise<CodePiece[][] | undefined> {
  const named =
    language
      .trim()
      .toLowerCase()
      .split(/[\s,{:]/, 1)[0] ?? ''
  const name = Object.hasOwn(otherNames, named) ? otherNames[named] : named
  const load = name !== undefined && Object.hasOwn(grammars, name) ? grammars[name] : undefined
  return load ? await colored(code, load) : undefined
}

async function colored(code: string, load: () => Grammar): Promise<CodePiece[][]> {
  highlighter ??= createHighlighterCore({
    themes: [light, dark],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  })
  const ready = await highlighter
  const grammar = await load()
  await ready.loadLanguage(grammar)
  const lang = nameOf(grammar)
  const lines = ready.codeToTokensWithThemes(code, {
    lang,
    themes,
    tokenizeMaxLineLength: maxLineLength,
    // A line that is cut short would color the lines after it wrongly: the page ends a worker that takes too long instead.
    tokenizeTimeLimit: 0,
  })
  return lines.map((line) =>
    line.map(({ content, variants }) => ({
      text: content,
      light: colorOf(variants.light?.color),
      dark: colorOf(variants.dark?.color),
    })),
  )
}

/** The module of a grammar is a list: embedded grammars come first. */
function nameOf(grammar: unknown): string {
  const { default: list } = grammar as { default: readonly { name: string }[] }
  return list.at(-1)?.name ?? 'text'
}

const colorOf = (color: string | undefined) => (color && /^#[0-9a-f]{3,8}$/i.test(color) ? color : undefined)

self.addEventListener('message', async ({ data: { id, code, language } }: MessageEvent<HighlightQuestion>) => {
  // Without colors it can be read as well.
  const lines = await highlight(code, language).catch(() => undefined)
  self.postMessage({ id, lines })
})
