import { createHash } from 'node:crypto'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { build, defineConfig, type Plugin, type Rolldown } from 'vite'
import { en } from './src/strings/en.ts'
import { type Language, languages } from './src/strings/locale.ts'
import { differences } from './src/strings/shape.ts'

/** Every browser that runs the page reads WOFF2: KaTeX's other copies of its fonts are left out. */
const onlyWoff2: Plugin = {
  name: 'only-woff2',
  enforce: 'pre',
  transform: {
    filter: { id: /katex\.min\.css/ },
    handler: (css) => css.replaceAll(/,url\([^)]+\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)/g, ''),
  },
}

/** Files without a hash in their names that the page shows before anything else. */
const plainFiles = ['/icon.svg', '/manifest.webmanifest']

/** The parts that follow the first load while the browser is idle. The worker keeps them: the page has them also without the daemon. */
const laterParts = ['layers', 'palette', 'inbox', 'preview-pane', 'private-screen', 'client-tools']

/** A file of the page with all that it imports. */
function withImports(bundle: Rolldown.OutputBundle, fileName: string): Set<string> {
  const needed = new Set([fileName])
  for (const name of needed) {
    const part = bundle[name]
    if (part?.type === 'chunk') for (const other of part.imports) needed.add(other)
  }
  return needed
}

/**
 * The service worker is one file at the root, built last: it lists the files of the first load with the parts that follow it,
 * and has the version of the page, so that each new page is a new worker.
 */
const serviceWorker: Plugin = {
  name: 'service-worker',
  apply: 'build',
  async writeBundle({ dir }, bundle) {
    const html = bundle['index.html']
    if (html?.type !== 'asset' || dir === undefined) throw new Error('The page has no index.html.')
    const text = String(html.source)
    const kept = new Set(Object.keys(bundle).filter((name) => name !== 'index.html' && text.includes(name)))
    for (const part of laterParts) {
      const chunk = Object.values(bundle).find((one) => one.type === 'chunk' && one.name === part)
      if (!chunk) throw new Error(`The page has no part named ${part}.`)
      for (const name of withImports(bundle, chunk.fileName)) kept.add(name)
    }
    await build({
      configFile: false,
      root: import.meta.dirname,
      publicDir: false,
      logLevel: 'warn',
      define: {
        __PAGE_VERSION__: JSON.stringify(createHash('sha256').update(text).digest('hex').slice(0, 16)),
        __FIRST_FILES__: JSON.stringify([...[...kept].map((name) => `/${name}`), ...plainFiles]),
      },
      build: {
        outDir: dir,
        emptyOutDir: false,
        target: 'es2022',
        rolldownOptions: {
          input: 'src/offline/service-worker.ts',
          output: { format: 'iife', entryFileNames: 'sw.js' },
        },
      },
    })
  },
}

/** The page asks for its app after the catalog of its language: named in the document, the app is there by then. */
const preloadApp: Plugin = {
  name: 'preload-app',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle, path }) {
      const app = Object.values(bundle ?? {}).find((one) => one.type === 'chunk' && one.name === 'app')
      if (!bundle || !app || !path.endsWith('index.html')) return []
      return [...withImports(bundle, app.fileName)]
        .filter((name) => {
          const part = bundle[name]
          // The document names the entry itself.
          return part?.type === 'chunk' && !part.isEntry
        })
        .map((name) => ({
          tag: 'link',
          attrs: { rel: 'modulepreload', crossorigin: true, href: `/${name}` },
          injectTo: 'head' as const,
        }))
    },
  },
}

async function incompleteLanguages(): Promise<Language[]> {
  const codes = Object.keys(languages) as Language[]
  const lacking = await Promise.all(codes.map(async (code) => differences(en, await languages[code].load()).length > 0))
  return codes.filter((_, at) => lacking[at])
}

// Nothing is inlined: the page's policy allows neither scripts nor styles but those that the daemon serves.
export default defineConfig(async () => ({
  plugins: [onlyWoff2, preloadApp, react(), tailwindcss(), serviceWorker],
  define: { INCOMPLETE_LANGUAGES: JSON.stringify(await incompleteLanguages()) },
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    // Heavy parts come in chunks of their own, when they are needed.
    chunkSizeWarningLimit: 3_000,
    rolldownOptions: { input: { index: 'index.html', diagram: 'diagram.html', preview: 'preview.html' } },
  },
  // Workers load their parts when they need them, too.
  worker: { format: 'es' as const },
  server: { proxy: { '/api': 'http://127.0.0.1:8100' } },
}))
