import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { startTheme } from './shell/theme.tsx'
import './styles.css'

startTheme()
const root = document.getElementById('root')
if (root)
  // ScreenBoundary shows errors of a screen.
  createRoot(root, { onCaughtError: (error) => console.warn(error) }).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
