import { listWaiting, putShared, putWaiting, removeWaiting } from './waiting-store.ts'

// The service worker of the page. It keeps the files of the first load and of the parts that follow it, so that the page opens
// and says what is wrong while the daemon is down. The document always comes from the daemon where that answers, and no reply of
// the API is ever kept. Built as one file of its own: /sw.js.

/** Of this build of the page. */
declare const __PAGE_VERSION__: string
declare const __FIRST_FILES__: readonly string[]

interface Extendable extends Event {
  waitUntil(work: Promise<unknown>): void
}
interface Fetch extends Extendable {
  request: Request
  respondWith(response: Promise<Response> | Response): void
}
interface WindowClient {
  url: string
  focus(): Promise<WindowClient>
  postMessage(message: unknown): void
}
interface WorkerScope {
  location: Location
  registration: ServiceWorkerRegistration
  clients: {
    claim(): Promise<void>
    matchAll(options: { type: 'window'; includeUncontrolled?: boolean }): Promise<WindowClient[]>
    openWindow(url: string): Promise<WindowClient | null>
  }
  skipWaiting(): Promise<void>
  addEventListener(type: 'install' | 'activate', listener: (event: Extendable) => void): void
  addEventListener(type: 'fetch', listener: (event: Fetch) => void): void
  addEventListener(type: 'sync', listener: (event: Extendable & { tag: string }) => void): void
  addEventListener(
    type: 'notificationclick',
    listener: (event: Extendable & { notification: Notification }) => void,
  ): void
}

const worker = globalThis as unknown as WorkerScope
const prefix = 'familiar-page-'
const cacheName = `${prefix}${__PAGE_VERSION__}`
const documentPath = '/index.html'
const firstFiles = new Set(__FIRST_FILES__)

worker.addEventListener('install', (event) => {
  const keep = async () => {
    const cache = await caches.open(cacheName)
    await cache.addAll([documentPath, ...firstFiles].map((path) => new Request(path, { cache: 'reload' })))
    await worker.skipWaiting()
  }
  event.waitUntil(keep())
})

worker.addEventListener('activate', (event) => {
  event.waitUntil(forget((name) => name !== cacheName).then(() => worker.clients.claim()))
})

async function forget(isOld: (name: string) => boolean): Promise<void> {
  const names = (await caches.keys()).filter((name) => name.startsWith(prefix) && isOld(name))
  await Promise.all(names.map((name) => caches.delete(name)))
}

const isProgram = (path: string) => /^\/(?:api|v1|mcp|tools|hooks|secret|healthz|readyz|metrics)(?:\/|$)/.test(path)

worker.addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (origin !== worker.location.origin || isProgram(pathname)) return
  if (request.method === 'POST' && pathname === '/share') return event.respondWith(takeShare(request))
  if (request.method !== 'GET') return
  if (firstFiles.has(pathname)) return event.respondWith(fromCache(pathname, () => fetch(request)))
  if (request.mode === 'navigate' && request.destination === 'document') event.respondWith(openDocument(request))
})

async function fromCache(path: string, otherwise: () => Promise<Response>): Promise<Response> {
  return (await caches.match(path, { cacheName })) ?? otherwise()
}

/** A proxy in front of the daemon answers these while the daemon is down. */
const isDown = ({ status }: Response) => status === 502 || status === 503 || status === 504

async function openDocument(request: Request): Promise<Response> {
  try {
    const response = await fetch(request)
    if (!isDown(response)) {
      void leaveIfUnwanted().catch(() => undefined)
      return response
    }
  } catch {
    // Not running, or not reached.
  }
  return fromCache(documentPath, async () => Response.error())
}

let hasAsked = false

/** A daemon that has no service worker wants none: this one removes itself. */
async function leaveIfUnwanted(): Promise<void> {
  if (hasAsked) return
  hasAsked = true
  const { status } = await fetch('/sw.js', { method: 'HEAD', cache: 'no-store' })
  if (status !== 404) return
  await forget(() => true)
  await worker.registration.unregister()
}

/** Another app shares something: it becomes the draft of a new conversation, and nothing is sent. */
async function takeShare(request: Request): Promise<Response> {
  const form = await request.formData()
  const [title = '', text = '', url = ''] = ['title', 'text', 'url'].map((name) => String(form.get(name) ?? '').trim())
  const parts = [title, text, text.includes(url) ? '' : url].filter((part) => part !== '')
  const files = form.getAll('files').filter((file) => file instanceof File)
  await putShared({ id: crypto.randomUUID(), text: [...new Set(parts)].join('\n'), files })
  return Response.redirect('/?shared', 303)
}

worker.addEventListener('notificationclick', (event) => {
  const { notification } = event
  notification.close()
  const { href = '/' } = (notification.data ?? {}) as { href?: string }
  event.waitUntil(showPlace(href))
})

async function showPlace(href: string): Promise<void> {
  const [open] = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true })
  if (!open) return void (await worker.clients.openWindow(href))
  await open.focus()
  open.postMessage({ kind: 'open', href })
}

worker.addEventListener('sync', (event) => {
  if (event.tag === 'familiar-waiting') event.waitUntil(sendWaiting())
})

/** An open page sends its messages itself. A rejection lets the browser try again later. */
async function sendWaiting(): Promise<void> {
  const open = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true })
  for (const page of open) page.postMessage({ kind: 'send' })
  if (open.length > 0) return
  for (const message of await listWaiting()) {
    const { key, body, authorization, error } = message
    if (error !== undefined || authorization === undefined) continue
    const response = await fetch('/api/v1/messages', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify(body),
      credentials: 'same-origin',
    })
    if (response.ok) await removeWaiting(key)
    else if (isDown(response) || response.status === 429) throw new Error(String(response.status))
    else if (response.status !== 401) {
      const reply = (await response.json().catch(() => ({}))) as { error?: string }
      await putWaiting({ ...message, error: reply.error ?? String(response.status) })
    }
  }
}
