import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
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

/** The page asks for its app after the catalog of its language: named in the document, the app is there by then. */
const preloadApp: Plugin = {
  name: 'preload-app',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle, path }) {
      const app = Object.values(bundle ?? {}).find((one) => one.type === 'chunk' && one.name === 'app')
      if (!app || !path.endsWith('index.html')) return []
      const needed = new Set([app.fileName])
      for (const name of needed) {
        const part = bundle?.[name]
        if (part?.type === 'chunk') for (const other of part.imports) needed.add(other)
      }
      return [...needed]
        .filter((name) => {
          const part = bundle?.[name]
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
  plugins: [onlyWoff2, preloadApp, react(), tailwindcss()],
  define: { INCOMPLETE_LANGUAGES: JSON.stringify(await incompleteLanguages()) },
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    // Heavy parts come in chunks of their own, when they are needed.
    chunkSizeWarningLimit: 3_000,
    rolldownOptions: { input: { index: 'index.html', diagram: 'diagram.html' } },
  },
  // Workers load their parts when they need them, too.
  worker: { format: 'es' as const },
  server: { proxy: { '/api': 'http://127.0.0.1:8100' } },
}))
