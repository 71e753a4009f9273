'use strict'

const fs = require('fs')
const http = require('http')
const https = require('https')

const maxRedirects = 5
// No byte for this long counts as no connection.
const patienceMs = 10000

/** Downloads a URL into a new file. */
function download(address, file, redirects) {
  return new Promise((resolve, reject) => {
    const get = /^http:/.test(address) ? http.get : https.get
    const request = get(address, (response) => {
      const target = response.headers.location
      if (response.statusCode >= 300 && response.statusCode < 400 && target) {
        response.resume()
        if (redirects === 0) return reject(new Error('too many redirects'))
        const left = redirects === undefined ? maxRedirects : redirects - 1
        return resolve(download(new URL(target, address).href, file, left))
      }
      if (response.statusCode !== 200) {
        response.resume()
        return reject(new Error(`HTTP status ${response.statusCode}`))
      }
      const output = fs.createWriteStream(file)
      response.on('aborted', () => reject(new Error('the connection broke')))
      response.on('error', reject)
      output.on('error', reject)
      output.on('finish', resolve)
      response.pipe(output)
    })
    request.on('error', reject)
    request.setTimeout(patienceMs, () => request.destroy(new Error('no answer')))
  })
}

exports.download = download
