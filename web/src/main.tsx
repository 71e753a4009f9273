import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { applyTheme } from './shell/theme.ts'
import './styles.css'

applyTheme()
const root = document.getElementById('root')
if (root)
  // A screen that fails says so itself (ScreenBoundary).
  createRoot(root, { onCaughtError: (error) => console.warn(error) }).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
