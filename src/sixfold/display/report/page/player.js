// Time: one clock for the robot and all plots.

class Player {
  constructor(start, end) {
    this.start = start; this.end = end; this.time = start; this.speed = 1; this.playing = false; this.followers = [];
  }
  follow(other) { this.followers.push(other); }
  tell() { for (const other of this.followers) other(this.time); }
  seek(time) { this.time = Math.min(this.end, Math.max(this.start, time)); this.tell(); }
  toggle(on) {
    this.playing = on === undefined ? !this.playing : on;
    if (this.playing && this.time >= this.end) this.time = this.start;
    this.tell();
  }
  advance(seconds) {
    if (!this.playing) return;
    const span = this.end - this.start;
    let next = this.time + seconds * this.speed;
    if (next > this.end) next = span > 0 ? this.start + ((next - this.start) % span) : this.start;
    this.seek(next);
  }
}

(function begin() {
  const data = JSON.parse(document.getElementById("data").textContent), find = (id) => document.getElementById(id);
  const player = new Player(data.start, data.end), root = document.documentElement;
  let scene = null;
  document.body.appendChild(tip);
  try { scene = new Scene(find("scene"), data.scene); }
  catch (error) { find("nogl").hidden = false; console.warn(error.message); }
  const axis = new Axis(data.start, data.end);
  const plots = data.plots.map((plot) => new Plot(find("plots"), plot, player, axis));

  const theme = (dark) => { root.dataset.theme = dark ? "dark" : "light"; if (scene) { scene.dark = dark ? 1 : 0; scene.dirty = true; } };
  const wish = matchMedia("(prefers-color-scheme: dark)");
  theme(wish.matches);
  wish.addEventListener("change", (e) => theme(e.matches));
  find("theme").addEventListener("click", () => theme(root.dataset.theme !== "dark"));
  find("home").addEventListener("click", () => scene && scene.home());

  const scrub = find("scrub"), play = find("play"), clock = find("clock"), digits = data.end - data.start < 1 ? 3 : 2;
  scrub.min = data.start; scrub.max = data.end;
  scrub.addEventListener("input", () => { player.toggle(false); player.seek(Number(scrub.value)); });
  play.addEventListener("click", () => player.toggle());
  find("speed").addEventListener("change", (e) => { player.speed = Number(e.target.value); });
  document.addEventListener("keydown", (e) => {
    if (["INPUT", "SELECT", "BUTTON"].includes(e.target.tagName)) return;
    if (e.key === " ") { e.preventDefault(); player.toggle(); }
    if (e.key === "ArrowRight" || e.key === "ArrowLeft") player.seek(player.time + (e.key === "ArrowRight" ? 1 : -1) * (data.end - data.start) / 100);
  });
  player.follow((time) => {
    scrub.value = time; clock.textContent = `${time.toFixed(digits)} s`;
    play.classList.toggle("on", player.playing);
    for (const plot of plots) plot.mark(time);
  });
  player.seek(data.start);

  let before = performance.now();
  const frame = (now) => {
    player.advance(Math.min(0.1, (now - before) / 1000)); before = now;
    if (scene) scene.draw(player.time);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  if (data.end > data.start && !matchMedia("(prefers-reduced-motion: reduce)").matches) player.toggle(true);
  window.sixfold = { player, scene, plots };
})();
