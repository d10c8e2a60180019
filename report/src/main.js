document.getElementById("main").textContent = Object.keys(JSON.parse(document.getElementById("data").textContent)).join();
