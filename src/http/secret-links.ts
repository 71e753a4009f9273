import { createHash } from 'node:crypto'
import { readBundledText } from '../base/files.ts'
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

const bundled = (name: string) => readBundledText(new URL(name, import.meta.url))
const documentTemplate = bundled('./secret-page.html')
const formTemplate = bundled('./secret-form.html')
/** The style sheet of these pages. Their policy allows it by its hash. */
const style = `\n${bundled('./secret-page.css')}\n`
const styleHash = createHash('sha256').update(style).digest('base64')

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

const untrustedNote =
  '<p class="note">Untrusted text was in view when this was asked. Enter it only if you expected this request.</p>'

/** The form. It is posted to the URL of the page. */
export function secretForm(asked: AskedSecret, problem?: string): Response {
  const isRefused = problem !== undefined
  const body = filled(formTemplate, {
    capability: words(asked.capability),
    secret: words(asked.secret),
    question: words(asked.question),
    note: asked.isUntrusted ? untrustedNote : '',
    alert: isRefused ? `<p class="alert" id="problem" role="alert">${words(problem)}</p>` : '',
    alertId: isRefused ? ' problem' : '',
    invalid: isRefused ? ' aria-invalid="true"' : '',
  })
  return page('A secret for Familiar', body, isRefused ? 400 : 200)
}

export function secretKept(): Response {
  const body = `<h1>Saved</h1>
<p role="status">It is stored encrypted, for this capability only. You can close this page.</p>
<p class="muted">This link no longer works.</p>`
  return page('Saved', body, 200)
}

/** The same for an unknown, used or expired link, so that the response does not reveal which. */
export function noSuchLink(): Response {
  const body = `<h1>This link does not work</h1>
<p>Links like this one work once and for a few minutes. If Familiar still needs something from you, ask it for a new link
in the chat.</p>`
  return page('This link does not work', body, 404)
}

function page(title: string, body: string, status: number): Response {
  const document = `${filled(documentTemplate, { title, style, body })}\n`
  return new Response(document, { status, headers: pageHeaders })
}

/** In one pass: a value is never read as a template. */
function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '')
}

function words(text: string): string {
  return escapeHtml(toDisplayText(text))
}
