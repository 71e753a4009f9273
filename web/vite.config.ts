import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Every browser that runs the page reads WOFF2: KaTeX's other copies of its fonts are left out. */
const onlyWoff2: Plugin = {
  name: 'only-woff2',
  enforce: 'pre',
  transform: {
    filter: { id: /katex\.min\.css/ },
    handler: (css) => css.replaceAll(/,url\([^)]+\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)/g, ''),
  },
}

// Nothing is inlined: the page's policy allows neither scripts nor styles but those that the daemon serves.
export default defineConfig({
  plugins: [onlyWoff2, react(), tailwindcss()],
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
  worker: { format: 'es' },
  server: { proxy: { '/api': 'http://127.0.0.1:8100' } },
})
