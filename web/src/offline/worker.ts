import { go } from '../shell/router.tsx'

/** The service worker of the page, from its side. Browsers have none on an address that is neither local nor HTTPS. */

const path = '/sw.js'

interface ScriptPolicy {
  createScriptURL(url: string): string
}

// The page's policy registers a worker only from an address that a Trusted Types policy returns.
const { trustedTypes } = globalThis as unknown as {
  trustedTypes?: { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy }
}
const rules: ScriptPolicy = { createScriptURL: () => path }
const policy = trustedTypes?.createPolicy('familiar-worker', rules) ?? rules

const container = () => (window.isSecureContext ? navigator.serviceWorker : undefined)

/** Registers it, for a signed-in user. `onSend`: the browser is back online. Returns the way to stop listening. */
export function startWorker(onSend: () => void): () => void {
  const workers = container()
  if (!workers || import.meta.env.DEV) return () => undefined
  const onMessage = ({ data }: MessageEvent<{ kind?: string; href?: string }>) => {
    if (data.kind === 'open' && data.href?.startsWith('/')) go(data.href)
    if (data.kind === 'send') onSend()
  }
  workers.addEventListener('message', onMessage)
  // The page works without it.
  workers.register(policy.createScriptURL(path), { updateViaCache: 'none' }).catch(() => undefined)
  return () => workers.removeEventListener('message', onMessage)
}

/** Asks the browser to send what waits, also after the page is closed. A browser that cannot leaves it to the page. */
export async function requestSync(): Promise<boolean> {
  const registration = (await container()?.getRegistration()) as
    | (ServiceWorkerRegistration & { sync?: { register(tag: string): Promise<void> } })
    | undefined
  if (!registration?.sync) return false
  return registration.sync.register('familiar-waiting').then(
    () => true,
    () => false,
  )
}

/** After signing out nothing of the page stays in this browser. */
export async function removeWorker(): Promise<void> {
  const registration = await container()?.getRegistration()
  await registration?.unregister()
  if ('caches' in window) {
    for (const name of await caches.keys()) if (name.startsWith('familiar-page-')) await caches.delete(name)
  }
}
