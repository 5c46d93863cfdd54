/* What the pages of readers and owners share: the token of a link becomes a cookie; downloads. */

// Exchanges the token of a link for a cookie, and returns the status of the response: 204 without a
// token, 0 without a connection. The token is in the fragment, which no proxy sees or logs.
export async function enter(api, page) {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return 204;
  history.replaceState(history.state, "", location.pathname + location.search);
  try {
    const headers = { Authorization: `Bearer ${token}`, "X-Driftduel": "1" };
    return (await fetch(`${api}/session?page=${page}`, { method: "POST", headers, cache: "no-store" })).status;
  } catch {
    return 0;
  }
}

// A link cannot set the header Accept, so the log is fetched and saved as a file.
export async function download(api, arena, button, says) {
  const kinds = { csv: "text/csv", ndjson: "application/x-ndjson" };
  const { kind } = button.dataset;
  button.disabled = true;
  try {
    const answer = await fetch(`${api}/log`, { headers: { Accept: kinds[kind] } });
    if (!answer.ok) throw new Error(String(answer.status));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `${arena}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    says.textContent = "";
  } catch {
    says.textContent = "The log could not be fetched; try again in a moment.";
  }
  button.disabled = false;
}
