import { useSyncExternalStore } from 'react'

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}

/** The theme that is on the screen, whoever chose it: what draws by itself has to draw again. */
export const useThemeName = () =>
  useSyncExternalStore(subscribe, () => document.documentElement.dataset.theme ?? 'light')
