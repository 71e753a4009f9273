'use strict'

// One start at a time installs. The lock is a folder, because making one is atomic everywhere. It holds an empty file
// named after each process that works under it, and its time is renewed while the holder lives. It is stale if those
// processes are gone, or if it was not renewed for a long time: a process id that was given to another program,
// a clone that two containers share.

const fs = require('fs')
const path = require('path')
const messages = require('./messages.cjs')
const places = require('./places.cjs')

const heartbeatMs = 2000
const lookMs = 200
const looksUntilStale = 150
const guardMs = 10000

/** Runs `action`, which returns a promise, under the lock; while others hold it, waits and prints a message. */
function withLock(action) {
  return acquire().then(() => {
    const heartbeat = setInterval(() => fs.utimesSync(places.lock, new Date(), new Date()), heartbeatMs)
    const release = () => {
      clearInterval(heartbeat)
      remove(places.lock)
    }
    return Promise.resolve()
      .then(action)
      .then(release, (error) => {
        release()
        throw messages.inWords(error)
      })
  })
}

function acquire() {
  let finishWaiting = null
  let seen = null
  let looks = 0
  return new Promise((resolve, reject) => {
    const look = () => {
      if (take()) {
        if (finishWaiting) finishWaiting()
        return resolve()
      }
      const holder = findHolder()
      looks = holder.mark === seen ? looks + 1 : 0
      seen = holder.mark
      if (holder.isGone || looks > looksUntilStale) removeStale(holder)
      else if (!finishWaiting && holder.names.length > 0) {
        finishWaiting = messages.announce(
          `waiting for another start that is installing (process ${holder.names.join(', ')})`
        )
      }
      setTimeout(lookOrReject, lookMs)
    }
    const lookOrReject = () => {
      try {
        look()
      } catch (error) {
        reject(messages.inWords(error))
      }
    }
    lookOrReject()
  })
}

function take() {
  fs.mkdirSync(places.runtime, { recursive: true })
  try {
    fs.mkdirSync(places.lock)
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
  holdLockFor(process.pid)
  return true
}

/** Also called with npm's process id: if this process is killed, npm may continue to write for a while. */
function holdLockFor(pid) {
  fs.writeFileSync(path.join(places.lock, String(pid)), '')
}

function findHolder() {
  try {
    const names = fs.readdirSync(places.lock)
    const mark = `${names.join()}@${fs.statSync(places.lock).mtimeMs}`
    return { mark: mark, names: names, isGone: names.length > 0 && !names.some(isAlive) }
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return { mark: null, names: [], isGone: false }
  }
}

function isAlive(pid) {
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Two waiters may find the same stale lock: the second must not remove the fresh lock of the first. */
function removeStale(holder) {
  const guard = `${places.lock}-removal`
  try {
    fs.mkdirSync(guard)
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    const made = fs.statSync(guard, { throwIfNoEntry: false })
    if (made && Date.now() - made.mtimeMs > guardMs) remove(guard)
    return
  }
  try {
    if (findHolder().mark === holder.mark) remove(places.lock)
  } finally {
    remove(guard)
  }
}

function remove(folder) {
  fs.rmSync(folder, { recursive: true, force: true })
}

exports.holdLockFor = holdLockFor
exports.withLock = withLock
