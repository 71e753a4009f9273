import { createHash } from 'node:crypto'
import { toDisplayText } from '../base/text.ts'
import { findQuestion, toQuestion } from '../custom-tools/builder/builds.ts'
import { secretOwnerOf } from '../custom-tools/built-catalog.ts'
import type { Capabilities } from '../custom-tools/capabilities.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { OneTimeLink, OneTimeLinks } from '../security/sign-in.ts'
import type { Database } from '../storage/database.ts'
import { escapeHtml } from '../tools/cards/card-nodes.ts'
import { commonHeaders } from './replies.ts'

/** A missing secret that a build asked for. All texts may come from a model. */
interface AskedSecret {
  capability: string
  secret: string
  question: string
  /** The Builder had untrusted content in sight when it asked. */
  isUntrusted: boolean
}

const minutes = 15

export type SecretLinks = ReturnType<typeof createSecretLinks>

/** One-time links to a form for a secret that a build needs. The secret never appears in the chat or reaches a model. */
export function createSecretLinks(dependencies: {
  database: Database
  links: OneTimeLinks
  capabilities: Pick<Capabilities, 'builds' | 'catalog' | 'vault'>
  /** The address of this daemon for the user's browser, without a trailing slash. Known only after it listens. */
  baseUrl: () => string
}) {
  const { database, links, baseUrl } = dependencies
  const { builds, catalog, vault } = dependencies.capabilities

  /**
   * The Builder waits for a minute and then continues; entering a secret often takes longer. So a question may have
   * ended, as long as the tool is being built or has declared the secret, and the secret is still missing.
   */
  async function find(userId: string, questionId: string): Promise<AskedSecret | undefined> {
    const row = await findQuestion(database.read, userId, questionId)
    if (!row || row.secret === null || row.state === 'answered') return undefined
    const { name: capability, secret, question } = row
    const known = catalog.find(userId, capability)
    const isWanted =
      known?.state === 'building' || known?.permissions.secrets.some((declared) => declared.name === secret)
    if (!isWanted || (await vault.names(userId, secretOwnerOf(capability))).some(({ name }) => name === secret)) {
      return undefined
    }
    const { isUntrusted } = await toQuestion(database.read, row)
    return { capability, secret, question, isUntrusted }
  }

  async function keep({ userId, subject }: OneTimeLink, value: string): Promise<boolean> {
    const asked = await find(userId, subject)
    if (!asked) return false
    await vault.set({ userId, owner: secretOwnerOf(asked.capability), name: asked.secret }, value)
    await builds.noticeSecret(userId, asked.capability, asked.secret)
    return true
  }

  return {
    /** Makes a new link for a question. */
    async secretLink(userId: string, questionId: string): Promise<{ url: string; minutes: number }> {
      if (!(await find(userId, questionId))) {
        throw new FamiliarError('not_found', 'No build is waiting for this secret')
      }
      const { token } = await links.make({ userId, purpose: 'secret', subject: questionId, minutes })
      return { url: `${baseUrl()}/secret/${token}`, minutes }
    },

    /** The question of a link; undefined if the secret is no longer needed. */
    asked: ({ userId, subject }: OneTimeLink) => find(userId, subject),

    /** Stores the value in the vault. False if the link was used, or the secret is no longer needed. */
    async give(token: string, value: string): Promise<boolean> {
      // The link is used first: of two concurrent requests, only one stores a value.
      const link = await database.write((writer) => links.use(writer, token, 'secret'))
      if (!link) return false
      try {
        return await keep(link, value)
      } catch (cause) {
        // The failure was not the user's, and no new link would be sent.
        await database.write((writer) => links.giveBack(writer, link))
        throw cause
      }
    },
  }
}

/** The style sheet of these pages. Their policy allows it by its hash. */
const secretPageStyle = `
:root {
  color-scheme: light dark; --text: #1f2328; --muted: #59636e; --line: #8c959f; --paper: #ffffff; --ground: #f3f4f6;
  --accent: #4f46e5; --on-accent: #ffffff; --alert: #b42318; --note: #fff7e0; --on-note: #5c4400;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6e8eb; --muted: #a3abb4; --line: #6b747e; --paper: #1c1f24; --ground: #121417;
    --accent: #a5a0ff; --on-accent: #15131f; --alert: #ff9d92; --note: #352d16; --on-note: #f2dfa8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; place-items: center; padding: 24px 16px;
  color: var(--text); background: var(--ground); overflow-wrap: anywhere;
  font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif;
}
main { width: 100%; max-width: 27rem; padding: 28px; background: var(--paper); border-radius: 14px; }
h1 { margin: 0 0 12px; font-size: 1.35rem; line-height: 1.3; }
p { margin: 0 0 12px; }
main > :last-child { margin-bottom: 0; }
.what { padding-left: 12px; border-left: 3px solid var(--accent); white-space: pre-line; }
.muted { color: var(--muted); font-size: 0.9rem; }
.note { padding: 10px 12px; border-radius: 8px; background: var(--note); color: var(--on-note); font-size: 0.9rem; }
.alert { color: var(--alert); font-weight: 600; }
label { display: block; margin: 20px 0 6px; font-weight: 600; }
input, button { width: 100%; min-height: 48px; font: inherit; border-radius: 8px; }
input { padding: 10px 12px; color: inherit; background: transparent; border: 1px solid var(--line); }
button {
  margin: 14px 0 18px; padding: 10px 16px; border: 0; font-weight: 600; cursor: pointer;
  background: var(--accent); color: var(--on-accent);
}
input:focus-visible, button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`

const styleHash = createHash('sha256').update(secretPageStyle).digest('base64')

/**
 * The token of a link is in the address, so the address must not leak: nothing is loaded, and a referrer is at most the
 * origin. Not `no-referrer`: with that, browsers send the form with the Origin `null`, which is refused.
 */
const pageHeaders = {
  ...commonHeaders,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    `default-src 'none'`,
    `style-src 'sha256-${styleHash}'`,
    `form-action 'self'`,
    `frame-ancestors 'none'`,
    `base-uri 'none'`,
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'strict-origin',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex',
}

/** The form. It is posted to the URL of the page. */
export function secretForm(asked: AskedSecret, problem?: string): Response {
  const secret = words(asked.secret)
  const body = `
<h1>A secret for “${words(asked.capability)}”</h1>
<p>This capability needs <strong>${secret}</strong> from you:</p>
<p class="what" id="what">${words(asked.question)}</p>
${asked.isUntrusted ? `<p class="note">Untrusted text was in view when this was asked. Enter it only if you expected this request.</p>` : ''}
<form method="post" autocomplete="off">
<label for="value">${secret}</label>
${problem === undefined ? '' : `<p class="alert" id="problem" role="alert">${words(problem)}</p>`}
<input type="password" id="value" name="value" required autofocus autocomplete="off" autocapitalize="off" spellcheck="false"
  aria-describedby="what${problem === undefined ? '' : ' problem'}"${problem === undefined ? '' : ' aria-invalid="true"'}>
<button type="submit">Save</button>
</form>
<p class="muted">It is stored encrypted on your own machine. No model and no chat ever sees it. This page works once.</p>`
  return page({ title: 'A secret for Familiar', body, status: problem === undefined ? 200 : 400 })
}

export function secretKept(): Response {
  const body = `
<h1>Saved</h1>
<p role="status">It is stored encrypted, for this capability only. You can close this page.</p>
<p class="muted">This link no longer works.</p>`
  return page({ title: 'Saved', body, status: 200 })
}

/** The same for an unknown, used or expired link, so that the response does not reveal which. */
export function noSuchLink(): Response {
  const body = `
<h1>This link does not work</h1>
<p>Links like this one work once and for a few minutes. If Familiar still needs something from you, ask it for a new link
in the chat.</p>`
  return page({ title: 'This link does not work', body, status: 404 })
}

function page({ title, body, status }: { title: string; body: string; status: number }): Response {
  const document = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${secretPageStyle}</style>
</head>
<body>
<main>${body}
</main>
</body>
</html>
`
  return new Response(document, { status, headers: pageHeaders })
}

function words(text: string): string {
  return escapeHtml(toDisplayText(text))
}
