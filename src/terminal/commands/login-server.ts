import { randomBytes } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import type { Clock } from '../../base/clock.ts'
import { beginLogin, type LoginOptions, type PendingLogin, readPastedAnswer } from '../../tools/mcp/begin-login.ts'
import { beginDeviceLogin } from '../../tools/mcp/device-login.ts'
import { createLoginFetch, type Revocation, revokeLogin, takesLogin } from '../../tools/mcp/login.ts'
import { isProgram, type McpAddress } from '../../tools/mcp/server-program.ts'
import {
  type CommandContext,
  CommandError,
  type CommandHandler,
  interrupted,
  messageOf,
  usageError,
} from '../command.ts'
import { type LocalMcp, withMcp } from './mcp.ts'

const waitMs = 15 * 60_000
const revokeMs = 15_000
const callbackPath = '/callback'

/**
 * Logs in to a server by OAuth: prints the address of its login page, and waits for the browser to come back to a port of
 * this machine or for its last address to be pasted; or prints a code for another device. Opens nothing by itself. The
 * tokens go into the vault.
 */
export const loginServer: CommandHandler<{ name: string; device?: boolean }> = async (context, input) => {
  const { output } = context
  const { name } = input
  await withMcp(context, async (mcp) => {
    const address = addressOf(mcp, name)
    const login = {
      server: name,
      address,
      scope: (await mcp.approvals.read(name)).loginScope,
      logins: mcp.logins,
      allowedHosts: mcp.allowedHosts,
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(waitMs)]),
    }
    await (input.device ? logInByCode(context, login, input) : logInByBrowser(context, login, input))
    await mcp.approvals.note(name, { needsLogin: false, loginScope: '' })
    await mcp.tellFamiliar()
    const { fingerprint } = await mcp.approvals.read(name)
    output.report(input.json, { name, is_logged_in: true }, () => {
      output.print(`Logged in to ${name}.`)
      if (fingerprint === null) output.print(`To review and approve it: ${output.commandLine(`mcp approve ${name}`)}`)
    })
  })
  return undefined
}

async function logInByBrowser(context: CommandContext, options: LoginOptions, input: { json?: boolean }) {
  const { output } = context
  const { server: name, signal } = options
  const callback = await listenForCallback()
  try {
    const state = randomBytes(32).toString('base64url')
    const login = await begun(name, beginLogin({ ...options, redirectUrl: callback.url, state }))
    try {
      showAddress(
        context,
        input,
        login.url,
        `Open this address in a browser to log in to ${name} at ${login.url.host}:`,
      )
      output.note(
        'Waiting for the browser. If it runs on another machine, paste the address that it ends on (or the code) here.',
      )
      await untilAnswered({ context, name, login, callback, signal })
    } finally {
      await login.close()
    }
  } finally {
    await callback.close()
  }
}

async function logInByCode(context: CommandContext, options: LoginOptions, input: { json?: boolean }) {
  const { server: name, signal } = options
  const login = await begun(name, beginDeviceLogin({ ...options, clock: keepingAlive }))
  try {
    const { url, code, completeUrl } = login
    showAddress(context, input, url, `Open this address on any device to log in to ${name} at ${url.host}:`)
    context.output.note(`Type this code there: ${code}`)
    if (completeUrl) context.output.note(`Or open it with the code: ${completeUrl.href}`)
    await login.finish().catch((cause: unknown) => {
      if (context.signal.aborted) throw interrupted()
      throw signal.aborted
        ? notInTime(name)
        : loginFailed(name, cause, `Start again: familiar mcp login ${name} --device`)
    })
  } finally {
    await login.close()
  }
}

/** Its timers keep the process alive: nothing else does while a code waits to be typed. */
const keepingAlive: Clock = {
  now: Date.now,
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
}

function showAddress({ output }: CommandContext, input: { json?: boolean }, url: URL, words: string): void {
  if (input.json) {
    output.note(url.href)
    return
  }
  output.print(words)
  output.print()
  output.print(url.href)
  output.print()
}

function begun<T>(name: string, login: Promise<T>): Promise<T> {
  return login.catch((cause: unknown) => {
    const keyHint = `If ${name} takes a key, name the variable that holds it in header_env of [mcp.servers.${name}].`
    throw loginFailed(name, cause, `${keyHint} If it needs a client that you register yourself, set oauth_client_id.`)
  })
}

/** Revokes the tokens at the authorization server if it can, and deletes them. */
export const logoutServer: CommandHandler<{ name: string }> = async (context, input) => {
  const { output } = context
  const { name } = input
  const { existed, revocation } = await withMcp(context, async (mcp) => {
    const revocation = await revoke(mcp, name, context.signal)
    const existed = await mcp.logins.remove(name)
    await mcp.tellFamiliar()
    return { existed, revocation }
  })
  const value = { name, is_logged_in: false, existed, revocation }
  if (!existed) return output.report(input.json, value, `There was no login for ${name}.`)
  const notes = {
    revoked: 'The server has revoked them.',
    not_offered: 'The server offers no revocation: they stay valid there until they expire.',
    failed: 'The server could not be asked to revoke them: they stay valid there until they expire.',
  }
  const done = `Logged out of ${name}. Its tokens are removed from the vault. ${notes[revocation]}`
  return output.report(input.json, value, done)
}

/** Also of a server that is no longer configured, whose tokens are only deleted. */
async function revoke(mcp: LocalMcp, name: string, aborted: AbortSignal): Promise<Revocation> {
  const settings = mcp.servers[name]
  if (!settings || isProgram(settings)) return 'not_offered'
  const login = await mcp.logins.read(name, settings.url)
  if (!login) return 'not_offered'
  const fetch = createLoginFetch(settings, mcp.allowedHosts)
  try {
    return await revokeLogin({ login, fetch, signal: AbortSignal.any([aborted, AbortSignal.timeout(revokeMs)]) })
  } finally {
    await fetch.close()
  }
}

function addressOf(mcp: LocalMcp, name: string): McpAddress {
  const settings = mcp.settingsOf(name)
  if (isProgram(settings)) {
    throw usageError(`${name} is a program on this machine. Only a server with a url has a login.`)
  }
  if (takesLogin(settings)) return settings
  if (settings.oauth?.isOwnLogin) throw usageError(`${name} needs no login: Familiar signs in with oauth_client_id.`)
  throw usageError(
    `${name} gets its Authorization header from the configuration.`,
    `To log in instead, remove Authorization from header_env of [mcp.servers.${name}].`,
  )
}

function loginFailed(name: string, cause: unknown, hint: string): CommandError {
  const message = `The login to ${name} failed: ${messageOf(cause).slice(0, 500)}`
  return new CommandError(message, { code: 'login_failed', hint })
}

function notInTime(name: string): CommandError {
  return new CommandError(`No sign-in to ${name} within ${waitMs / 60_000} minutes.`, {
    code: 'login_failed',
    hint: `Start again: familiar mcp login ${name}`,
  })
}

type Callback = Awaited<ReturnType<typeof listenForCallback>>

async function listenForCallback() {
  let handle: (answer: URLSearchParams) => boolean = () => false
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (request.method !== 'GET' || pathname !== callbackPath) return reply(response, 404, 'Not found.')
    if (handle(searchParams)) return reply(response, 200, 'Familiar has the answer. You can close this window.')
    return reply(response, 400, 'This is not the answer to the login that is waiting. Try again from the terminal.')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${callbackPath}`,
    /** Gets every request of a browser, and returns whether it was the right one. */
    onAnswer: (handler: typeof handle) => {
      handle = handler
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

function reply(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    connection: 'close',
  })
  response.end(`${text}\n`)
}

/** The first answer to this sign-in ends the wait; others are refused. */
async function untilAnswered(options: {
  context: CommandContext
  name: string
  login: PendingLogin
  callback: Callback
  signal: AbortSignal
}): Promise<void> {
  const { context, name, login, callback, signal } = options
  const answered = Promise.withResolvers<URLSearchParams | string>()
  const onAbort = () => {
    answered.reject(context.signal.aborted ? interrupted() : notInTime(name))
  }
  signal.addEventListener('abort', onAbort, { once: true })
  callback.onAnswer((answer) => {
    const isOwn = login.isOwn(answer)
    if (isOwn) answered.resolve(answer)
    return isOwn
  })
  // Standard input may be empty or closed: the browser's answer still counts then.
  const lines = createInterface({ input: context.stdin })
  lines.on('line', (line) => {
    const answer = readPastedAnswer(line)
    if (answer === undefined) {
      if (line.trim() !== '') context.output.note('This is not an address or a code. Paste the whole address.')
    } else if (typeof answer === 'string' || login.isOwn(answer)) answered.resolve(answer)
    else context.output.note('This address is not the answer to this login. Open the address above and try again.')
  })
  try {
    await login.finish(await answered.promise)
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    const again = `Start again: familiar mcp login ${name}. If you paste the answer, paste the whole address.`
    throw loginFailed(name, cause, again)
  } finally {
    signal.removeEventListener('abort', onAbort)
    lines.close()
    context.stdin.pause()
  }
}
