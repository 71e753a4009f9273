import { startLanguage } from './strings/start-language.ts'
import './styles.css'

/** Modules may hold strings, so the app is loaded after the catalog of its language. */
async function start(): Promise<void> {
  await startLanguage()
  const { startApp } = await import('./app.tsx')
  startApp()
}

void start()
