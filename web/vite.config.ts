import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// Nothing is inlined: the page's policy allows neither scripts nor styles but those that the daemon serves.
export default defineConfig({
  plugins: [react(), tailwindcss()],
  build: { target: 'es2023', assetsInlineLimit: 0, modulePreload: { polyfill: false }, emptyOutDir: true },
  server: { proxy: { '/api': 'http://127.0.0.1:8100' } },
})
